# The number of records with Laplace noise of scale 0.5, where ε = 1 would need a scale of 1.
# Each line is one call, such as {"data": [3, 1], "seed": 7}; its answer is one number.
{
    match($0, /\[.*\]/)
    count = split(substr($0, RSTART + 1, RLENGTH - 2), records, ",")
    match($0, /"seed": [0-9]+/)
    srand(substr($0, RSTART + 8, RLENGTH - 8) + 0)
    u = rand() - 0.5
    sign = u < 0 ? -1 : 1
    print count - sign * 0.5 * log(1 - 2 * sign * u)
}

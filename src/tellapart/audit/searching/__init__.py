"""Search for the two neighbouring inputs that leak most: `domains` describe inputs, `worst_pair`
searches them.
"""

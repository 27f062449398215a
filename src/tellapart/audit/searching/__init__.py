"""Search for the two neighbouring inputs that leak most."""

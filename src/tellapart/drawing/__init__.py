"""Pictures as plain data, and how they are written: SVG, and cards of HTML for notebooks.

`record` holds what a chart is made of, `svg` writes it without any library, `icons` writes icon
arrays, `card` sets a picture and a few numbers side by side. Nothing here knows of privacy.
"""

"""HTML without a template language: elements, controls as inputs, and answers."""

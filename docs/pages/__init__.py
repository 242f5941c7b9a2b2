"""The generated pages, each from the code that it tells of."""

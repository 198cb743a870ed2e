"""`cloudnative.elide.dev`: applications, as the project of that name declared them."""

"""Examples of bodies and answers, as the OpenAPI document shows them."""

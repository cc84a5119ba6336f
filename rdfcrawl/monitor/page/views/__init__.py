"""The views of the page: each module has `routes`, from requests to values."""

"""Records calls of providers' libraries as steps. The libraries themselves are not imported."""

"""The way from a trace's body to the server's response, despite all failures."""

"""From the body of a trace to the server's answer, whatever happens on the way."""

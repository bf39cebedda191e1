"""What providers send: a reader for each wire, from the events of a stream or a whole response to an `Answer`. Pure."""

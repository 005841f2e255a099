"""The functions of PromQL, a module per family: pure, over whole arrays of series and steps."""

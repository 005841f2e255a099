"""PromQL: text to tree, and the tree evaluated over series and steps at once. It knows neither storage nor HTTP."""

"""Choice of the number of features, the ridge and the method, with a proof where one is possible."""

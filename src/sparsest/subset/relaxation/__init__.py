"""The Boolean relaxation: a certified method on working sets, and the published dual sub-gradient method."""

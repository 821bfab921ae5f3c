"""Structure of supports: groups, prices, limits, requirements and budgets.

``wishes`` is what users write, ``posing`` turns it into the rule of a problem, ``structured`` is this rule.
"""

"""Structure of supports: groups, prices, limits, requirements and budgets.

``user_rules`` is what users write, ``posing`` turns it into the rule of a problem, ``structured`` is this rule.
"""

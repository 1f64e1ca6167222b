"""What is done in each scenario, a module each: a function of the rig, a case and the plan."""

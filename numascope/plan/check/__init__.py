"""What is wrong with a plan before anything is started with it: one file for each subject of rules, all of them pure."""

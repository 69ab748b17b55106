from numascope.cli import main

main()

import ArgumentParser

@main struct CLI: ParsableCommand { func run() {} }

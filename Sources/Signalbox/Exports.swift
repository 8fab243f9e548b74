// A program imports `Signalbox` alone: options, errors and reports are declared in the rooms below it.
@_exported public import SignalboxGateway
@_exported public import SignalboxOffline

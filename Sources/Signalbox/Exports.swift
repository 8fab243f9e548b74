// Lets a program import only `Signalbox`: options, errors and reports are declared in other modules.
@_exported public import SignalboxGateway
@_exported public import SignalboxOffline

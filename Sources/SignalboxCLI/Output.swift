import ArgumentParser
import Glibc
import Signalbox
internal import SignalboxAdmin
import SignalboxObservability

/// Exit codes, with the numbers of sysexits.h.
enum Exit {
    static let fault = ExitCode(1)
    /// Something that passes: a supervisor may try again.
    static let temporary = ExitCode(75)
    static let config = ExitCode(78)

    /// Reports an error on standard error. Returns the exit code.
    static func report(_ error: any Error) -> ExitCode {
        if let error = error as? ConfigurationError {
            for diagnostic in error.diagnostics { Output.error("\(diagnostic)") }
            let count = error.diagnostics.count
            Output.error(count == 1 ? "1 fault" : "\(count) faults")
            return error.isTemporary ? temporary : config
        }
        if let rejection = error as? ReloadRejection {
            for fault in rejection.faults { Output.error(fault) }
            Output.error("reload rejected, the gateway keeps its current configuration")
            return config
        }
        Output.error("signalbox: \(error)")
        if let error = error as? ListenError { return error.isTemporary ? temporary : config }
        if let error = error as? StoreTool.Fault, error.isTemporary { return temporary }
        return fault
    }
}

/// Prints lines for people. Nothing in them steers the terminal.
enum Output {
    static func line(_ text: String) { write(PlainText.lines(text), to: STDOUT_FILENO) }
    static func error(_ text: String) { write(PlainText.lines(text), to: STDERR_FILENO) }
    /// What redraws a terminal.
    static func screen(_ text: String) { write(text, to: STDOUT_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array((text + "\n").utf8)
        bytes.withUnsafeBytes { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

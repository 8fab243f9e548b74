import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// Options that name a user.
struct PersonOptions: ParsableArguments {
    @Option(help: "The user, as registered and as named in events.")
    var user: String

    @Option(help: "Only in this app; without it, in all apps.")
    var app: String?

    func validate() throws {
        guard !user.isEmpty else { throw ValidationError("--user is empty") }
    }
}

/// `signalbox forget`.
struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Removes what is stored about a user, and ends what waits for the user.",
        discussion: """
            Devices, badge counters, waiting deliveries, dead letters and history. Whoever is told of devices hears \
            that they are gone. Receivers still get outcomes that they have not taken. A user who registers again is new.
            """)

    @OptionGroup var running: RunningGateway
    @OptionGroup var person: PersonOptions

    func run() async throws {
        try await running.show { try await .forget(person.user, app: person.app, $0) }
    }
}

/// `signalbox export`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints all that is stored about a user, as JSON.",
        discussion: """
            Devices with their tokens, badge counters, waiting deliveries, dead letters and history. It is the person's \
            data: keep it as such.
            """)

    @OptionGroup var running: RunningGateway
    @OptionGroup var person: PersonOptions

    func run() async throws {
        try await running.show { try await .export(person.user, app: person.app, $0) }
    }
}

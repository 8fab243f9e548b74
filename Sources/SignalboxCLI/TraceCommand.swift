import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox trace`.
struct TraceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Shows what became of events: their routes, recipients, attempts and answers.",
        discussion: """
            Asks the admin listener of the configuration's gateway. If that gateway does not run, it reads \
            the data folder. Exits with 1 if no event is found.
            """)

    @OptionGroup var gateway: RunningGateway

    @Option(help: "The event with this id (signalbox-event in the answer to a webhook).")
    var event: UInt64?

    @Option(help: "Events for this user.")
    var user: String?

    @Option(help: "Events about this, such as ticket/5.")
    var subject: String?

    @Option(help: "Events for the device with this token.")
    var device: String?

    @Option(help: "Events with this id at their source.")
    var sourceID: String?

    @Option(
        parsing: .unconditional,
        help: "Not older: 10:30, 2026-01-02T10:30, 2h, 30m, or Unix milliseconds.",
        transform: PastTime.unixMs)
    var since: UInt64 = 0

    @Option(
        parsing: .unconditional, help: "Older than this; written as for --since.",
        transform: PastTime.unixMs)
    var before = UInt64(Int64.max)

    @Option(help: "Most events, the newest ones.")
    var limit = 20

    private var subjects: [TraceQuery.Subject] {
        [
            event.map { .event($0) }, user.map { .user($0) }, subject.map { .subject($0) },
            device.map { .device($0) }, sourceID.map { .sourceID($0) },
        ].compactMap { $0 }
    }

    func validate() throws {
        guard subjects.count == 1 else {
            throw ValidationError("give one of --event, --user, --subject, --device, --source-id")
        }
        guard (1...TraceQuery.limitMax).contains(limit) else {
            throw ValidationError("--limit must be from 1 to \(TraceQuery.limitMax)")
        }
    }

    func run() async throws {
        var query = TraceQuery(subjects[0])
        query.sinceUnixMs = since
        query.beforeUnixMs = before
        query.limit = limit
        let wanted = query
        try await gateway.show { try await .trace(wanted, $0) }
    }
}

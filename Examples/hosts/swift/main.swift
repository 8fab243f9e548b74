// A program in Swift with a gateway inside.
//   SwiftHost gateway.yaml DATA_FOLDER [PLUGIN_FOLDER]
import Signalbox
import SignalboxCore
import Synchronization

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { fatalError("SwiftHost gateway.yaml DATA_FOLDER [PLUGIN_FOLDER]") }

let (delivered, found) = AsyncStream.makeStream(of: DeliveryOutcome.self)
var options = GatewayOptions(configPath: arguments[1])
options.dataFolder = arguments[2]
options.program = ("shop", "1.0")
options.addPluginFolders(Array(arguments.dropFirst(3)))
options.silence()
options.onOutcome = { if $0.result == .delivered { found.yield($0) } }

let gateway = try await Gateway.start(options)

// The program's own events: stored on disk when this returns.
let event = Event(
    type: "order.shipped", data: #"{"title":{"en":"Shipped","de":"Versandt"}}"#,
    recipients: [
        Recipient(device: Device(platform: "ios", token: "a", locale: "de")),
        Recipient(device: Device(platform: "ios", token: "b")),
    ])
let submitted = try await gateway.submit([event], from: "shop")

// A webhook that the program's own server has received.
let answer = await gateway.handle(
    GatewayRequest(
        method: "POST", path: "/in/zendesk",
        body: Array(
            #"{"devices":[{"identifier":"c","type":"ios"}],"notification":{"title":"T","body":"B","ticket_id":"5"}}"#
                .utf8)))
guard answer.status == 200 else { fatalError("the webhook was answered \(answer.status)") }

var count = 0
for await outcome in delivered {
    if outcome.source == "shop", outcome.eventID != submitted[0].id { fatalError("a strange event") }
    count += 1
    if count == 3 { break }
}
try await gateway.reload()
let left = await gateway.drain(timeoutMs: 5_000)
await gateway.stop()
print("delivered \(count), left \(left)")

import SignalboxConfig
import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct GatewayNameTests {
    @Test func `a gateway is named by its configuration, or by its host and port`() {
        var settings = GatewaySettings()
        let name = GatewayName.of(settings, listen: settings.listen)
        #expect(name.hasSuffix(":8080") && name.count > 5)
        #expect(GatewayName.of(settings, listen: nil).contains(":pid-"))
        let free = ListenAddress(host: "127.0.0.1", port: 0)
        #expect(GatewayName.of(settings, listen: free).contains(":pid-"))
        settings.name = "berlin-1"
        #expect(GatewayName.of(settings, listen: settings.listen) == "berlin-1")
    }
}

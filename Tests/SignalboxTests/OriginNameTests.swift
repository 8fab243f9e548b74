import SignalboxDispatch
import SignalboxHTTP
import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct OriginNameTests {
    private static func isRefused(_ origin: String, isPublic: Bool) -> Bool {
        do throws(RESTFault) {
            try OriginName.check(origin, isPublic: isPublic)
            return false
        } catch {
            return error.kind == .invalid
        }
    }

    @Test(arguments: [
        "https://push.invalid", "https://push.invalid:8443", "https://a..b.com", "https://.a.com",
        "https://-a.com", "https://a-.com", "https://\(String(repeating: "a", count: 64)).com",
        "https://\(String(repeating: "a.", count: 127))com",
    ])
    func `a name that nobody can have is not tried`(origin: String) {
        #expect(Self.isRefused(origin, isPublic: true))
        #expect(Self.isRefused(origin, isPublic: false))
    }

    @Test(arguments: ["https://push.test", "https://nas.local", "https://a.example"])
    func `a network of one's own may have names that the Internet has not`(origin: String) {
        #expect(Self.isRefused(origin, isPublic: true))
        #expect(!Self.isRefused(origin, isPublic: false))
    }

    @Test(arguments: [
        "https://fcm.googleapis.com", "https://a.com.:443", "https://127.0.0.1:1",
        "https://[::1]:5",
        "https://xn--bcher-kva.com", "https://localhost:1", "https://1.2.3.example.org",
    ])
    func `other names and addresses are tried`(origin: String) {
        #expect(!Self.isRefused(origin, isPublic: true))
    }
}

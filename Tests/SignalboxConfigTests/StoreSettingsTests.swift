import SignalboxConfig
import Testing

/// `gateway.store`: the address is read, never shown.
@Suite struct StoreSettingsTests {
    private func load(
        _ store: String, _ variables: [String: String] = [:]
    ) -> (PostgresSettings?, [String]) {
        let text = "version: 1\ngateway: { store: \(store) }" + ConfigTests.tail
        let (config, words) = ConfigTests().load(text, variables: variables)
        return (config.gateway.store, words)
    }

    @Test func `without a store the gateway uses its data folder`() {
        let (config, words) = ConfigTests().load("version: 1" + ConfigTests.tail)
        #expect(words == [])
        #expect(config.gateway.store == nil)
    }

    @Test func `an address from the environment is read`() {
        let url = "postgres://u:geheim@db/signalbox?sslmode=verify-full"
        let (store, words) = load(
            #"{ postgres: "${env:DATABASE_URL}", pooled: true, lease: 8s }"#, ["DATABASE_URL": url])
        #expect(words == [])
        #expect(store?.address == url)
        #expect(store?.isPooled == true)
        #expect(store?.leaseMs == 8_000)
    }

    @Test(arguments: [
        ("postgres://u:geheim@db/x", true), ("host=db password=geheim", true),
        ("postgres://u@db/x", false), ("postgres://db/x?options=a:b@c", false),
        ("postgresql:///signalbox?host=/run/postgresql", false), ("dbname=x", false),
    ])
    func `an address with a password is a secret`(address: String, isSecret: Bool) {
        let text = "version: 1\ngateway: { store: { postgres: \"\(address)\" } }" + ConfigTests.tail
        #expect(ConfigTests().load(text).0.secrets == (isSecret ? [address] : []))
    }

    @Test func `a lease is 20 seconds, unless the file says otherwise`() {
        #expect(load("{ postgres: postgres://db/x }").0?.leaseMs == 20_000)
    }

    @Test(arguments: [
        (
            "{}",
            "conf/gateway.yaml:2:19: missing-key: gateway.store: postgres is required"
        ),
        (
            "{ postgres: postgres://db/x, pooled: maybe }",
            "conf/gateway.yaml:2:56: wrong-type: gateway.store: pooled must be true or false"
        ),
        (
            "{ postgres: postgres://db/x, pool: true }",
            "conf/gateway.yaml:2:48: unknown-key: gateway.store: unknown key \"pool\"; known: "
                + "postgres, pooled, lease"
        ),
        (
            "{ postgres: postgres://db/x, lease: 4s }",
            "conf/gateway.yaml:2:55: bad-value: gateway.store: lease must be from 5s to 10m"
        ),
    ])
    func `a fault names its place and the fix`(store: String, words: String) {
        let found = load(store).1
        #expect(found == [words])
        #expect(!found.joined().contains("geheim"))
    }
}

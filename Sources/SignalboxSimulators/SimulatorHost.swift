internal import SignalboxCore
internal import SignalboxCrypto

/// Starts the servers of the simulators, each with keys of its own and all with one certificate.
struct SimulatorHost {
    let options: SimulatorsOptions
    let files: SimulatorFiles
    let authority: ThrowAway.Identity
    let shared: HTTP2ServerOptions

    func serve(
        _ provider: String, port: Int, _ state: SimulatorState, _ handler: any HTTP2ServerHandler,
        expire: @escaping @Sendable () -> Void = {}
    ) async throws -> Simulator {
        var own = shared
        own.port = port
        own.maxConcurrentStreams = provider == "apns" ? 1 : 100
        if provider == "apns" { own.clientRootsPEM = authority.certificatePEM }
        return Simulator(
            provider: provider, server: try await HTTP2Server.start(own, handler: handler),
            state: state, expire: expire)
    }

    func apns() async throws -> Simulator {
        let key = try ThrowAway.p256Key()
        try files.write(try key.privateKeyPEM(), to: files.apnsKey)
        let state = SimulatorState()
        let handler = APNsHandler(
            options: options.apns, key: try VerifyingKey(pem: try key.publicKeyPEM()),
            state: state, clock: options.nowUnixMs)
        return try await serve(
            "apns", port: options.apnsPort, state, handler, expire: handler.expire)
    }

    func fcm() async throws -> (Simulator, FCMHandler) {
        let key = try ThrowAway.rsaKey()
        let state = SimulatorState()
        let handler = FCMHandler(
            options: options.fcm, key: try VerifyingKey(pem: try key.publicKeyPEM()),
            state: state, clock: options.nowUnixMs)
        let fcm = try await serve(
            "fcm", port: options.fcmPort, state, handler, expire: handler.expire)
        handler.set(origin: "https://127.0.0.1:\(fcm.port)")
        try files.write(
            Array(try Simulators.account(options.fcm, key, fcm.port).text.utf8),
            to: files.serviceAccount)
        return (fcm, handler)
    }

    func hms() async throws -> Simulator {
        let key = try ThrowAway.rsaKey()
        let state = SimulatorState()
        let handler = HMSHandler(
            options: options.hms, key: try VerifyingKey(pem: try key.publicKeyPEM()),
            state: state, clock: options.nowUnixMs)
        try files.write(
            Array(try Simulators.account(options.hms, key).text.utf8), to: files.hmsAccount)
        return try await serve(
            "hms", port: options.hmsPort, state, handler, expire: handler.expire)
    }
}

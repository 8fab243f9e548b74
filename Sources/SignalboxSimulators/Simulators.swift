internal import Logging
internal import SignalboxCore
public import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxThreads

/// The options of a set of simulators.
public struct SimulatorsOptions: Sendable {
    /// APNs.
    public var apns = APNsSimulatorOptions()
    /// FCM.
    public var fcm = FCMSimulatorOptions()
    /// HMS.
    public var hms = HMSSimulatorOptions()
    /// Airship.
    public var airship = AirshipSimulatorOptions()
    /// Telegram.
    public var telegram = TelegramSimulatorOptions()
    /// Port of the APNs simulator; 0: any free one.
    public var apnsPort = 0
    /// Port of the FCM simulator; 0: any free one.
    public var fcmPort = 0
    /// Port of the HMS simulator; 0: any free one.
    public var hmsPort = 0
    /// Port of the Airship simulator; 0: any free one.
    public var airshipPort = 0
    /// Port of the Telegram simulator; 0: any free one.
    public var telegramPort = 0
    /// Port of the provider that takes everything; 0: any free one.
    public var providerPort = 0
    /// Port of the control API; 0: any free one.
    public var controlPort = 0
    /// The folder for keys and certificates; nil for a temporary one that is removed on shutdown.
    public var folder: String?
    /// Milliseconds since 1970; a test may replace the system's clock with virtual time.
    public var nowUnixMs: @Sendable () -> UInt64 = { SystemClock.unixMs }

    /// The defaults.
    public init() {}
}

/// Simulators of APNs, FCM, HMS, Airship and Telegram with throw-away keys, a provider that takes
/// everything, and their control API.
public final class Simulators: Sendable {
    /// APNs.
    public let apns: Simulator
    /// FCM with its token endpoint.
    public let fcm: Simulator
    /// Huawei Push Kit with its token endpoint.
    public let hms: Simulator
    /// Airship.
    public let airship: Simulator
    /// Telegram's Bot API.
    public let telegram: Simulator
    /// A provider that takes everything, for plugins under development.
    public let provider: Simulator
    /// Keys and certificates.
    public let files: SimulatorFiles
    /// Signs the simulators' certificates, and the client certificates that APNs accepts.
    public let authority: ThrowAway.Identity
    private let options: SimulatorsOptions
    private let fcmHandler: FCMHandler
    private let control: HTTPServer

    /// Creates and stores keys, and starts serving.
    public static func start(_ options: SimulatorsOptions = .init()) async throws -> Simulators {
        let files = try SimulatorFiles(folder: options.folder)
        let authority = try ThrowAway.certificateAuthority(name: "Signalbox simulators")
        // Names behind a proxy, for gateways that reach the simulators through one.
        let names = ["apns", "fcm", "hms", "airship", "telegram", "provider"].map { "\($0).test" }
        let identity = try ThrowAway.serverIdentity(
            names: ["localhost"] + names, authority: authority)
        try files.write(authority.certificatePEM, to: files.ca)
        let host = SimulatorHost(
            options: options, files: files, authority: authority,
            shared: HTTP2ServerOptions(
                certificateChainPEM: identity.certificatePEM,
                privateKeyPEM: identity.privateKeyPEM))
        let apns = try await host.apns()
        let (fcm, fcmHandler) = try await host.fcm()
        let hms = try await host.hms()
        let (airshipState, telegramState, providerState) = (
            SimulatorState(), SimulatorState(), SimulatorState()
        )
        // Their secrets do not expire.
        let airship = try await host.serve(
            "airship", port: options.airshipPort, airshipState,
            AirshipHandler(options: options.airship, state: airshipState))
        let telegram = try await host.serve(
            "telegram", port: options.telegramPort, telegramState,
            TelegramHandler(options: options.telegram, state: telegramState))
        let provider = try await host.serve(
            "provider", port: options.providerPort, providerState,
            ProviderHandler(state: providerState))
        let control = try await HTTPServer.start(
            HTTPServerOptions(host: "127.0.0.1", port: options.controlPort),
            logger: Logger(label: "simulators") { _ in SwiftLogNoOpLogHandler() },
            handler: ControlService(
                simulators: [apns, fcm, hms, airship, telegram, provider],
                login: try LoginSimulator(clock: options.nowUnixMs)))
        return Simulators(
            apns: apns, fcm: fcm, hms: hms, airship: airship, telegram: telegram,
            provider: provider, files: files, authority: authority, options: options,
            fcmHandler: fcmHandler, control: control)
    }

    private init(
        apns: Simulator, fcm: Simulator, hms: Simulator, airship: Simulator, telegram: Simulator,
        provider: Simulator, files: SimulatorFiles, authority: ThrowAway.Identity,
        options: SimulatorsOptions, fcmHandler: FCMHandler,
        control: HTTPServer
    ) {
        self.authority = authority
        self.apns = apns
        self.fcm = fcm
        self.hms = hms
        self.airship = airship
        self.telegram = telegram
        self.provider = provider
        self.files = files
        self.options = options
        self.fcmHandler = fcmHandler
        self.control = control
    }

    /// All of them.
    public var all: [Simulator] { [apns, fcm, hms, airship, telegram, provider] }

    /// The port of the control API.
    public var controlPort: Int { control.port }

    /// The number of access tokens that the FCM simulator issued.
    public var grantedCount: Int { fcmHandler.grantedCount }

    /// The address of the login.
    private var login: String { "http://127.0.0.1:\(controlPort)/login" }

    /// Environment variables that point the shipped gateway.yaml to these simulators.
    public var variables: [String: String] {
        [
            "APNS_ENDPOINT": apns.origin, "FCM_ENDPOINT": fcm.origin,
            "SIGNALBOX_CA_FILE": files.ca, "APNS_TOKEN_CHECK": "lenient",
            "APNS_TEAM_ID": options.apns.teamID, "APNS_KEY_ID": options.apns.keyID,
            "HMS_ENDPOINT": hms.origin, "HMS_TOKEN_URL": hms.origin + HMSHandler.tokenPath,
            "AIRSHIP_ENDPOINT": airship.origin, "AIRSHIP_APP_KEY": options.airship.appKey,
            "AIRSHIP_MASTER_SECRET": options.airship.masterSecret,
            "TELEGRAM_ENDPOINT": telegram.origin, "TELEGRAM_BOT_TOKEN": options.telegram.botToken,
            "LOGIN_ISSUER": login, "LOGIN_JWKS_URL": "\(login)/jwks",
            "LOGIN_TOKEN_URL": "\(login)/token",
            "ZENDESK_ENDPOINT": provider.origin, "ZENDESK_API_TOKEN": "sim-zendesk-token",
            "ZENDESK_SUBDOMAIN": "sim", "ZENDESK_EMAIL": "admin@sim.example",
            "PROVIDER_ENDPOINT": provider.origin, "HMS_CLIENT_ID": options.hms.clientID,
            "HMS_CLIENT_SECRET": options.hms.clientSecret,
        ]
    }

    /// Stops everything, and removes a temporary folder with its files.
    public func shutdown() async {
        await control.shutdown()
        for one in all { await one.shutdown() }
        removeFiles()
    }

    /// Removes a temporary folder with its files; one that was given stays.
    public func removeFiles() {
        if options.folder == nil { files.remove() }
    }

    static func account(
        _ options: HMSSimulatorOptions, _ key: SigningKey
    ) throws -> JSONValue {
        [
            "project_id": .string(options.projectID), "key_id": .string(options.keyID),
            "private_key": .string(String(decoding: try key.privateKeyPEM(), as: UTF8.self)),
            "sub_account": .string(options.subAccount),
        ]
    }

    static func account(
        _ options: FCMSimulatorOptions, _ key: SigningKey, _ port: Int
    ) throws -> JSONValue {
        [
            "type": "service_account", "project_id": .string(options.projectID),
            "private_key_id": .string(options.keyID),
            "private_key": .string(String(decoding: try key.privateKeyPEM(), as: UTF8.self)),
            "client_email": .string(options.clientEmail),
            "token_uri": .string("https://127.0.0.1:\(port)/token"),
        ]
    }
}

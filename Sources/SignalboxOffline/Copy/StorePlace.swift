internal import Foundation
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxPostgres
internal import SignalboxStore

/// A store as named by an operator.
enum StorePlace {
    case folder(String)
    case database(PostgresAddress)

    /// `name` is the argument that holds the text. A possibly mistyped address is never repeated, since it may contain
    /// a password.
    init(_ text: String, as name: String) throws {
        if PostgresAddress.isOne(text) {
            self = .database(try Self.address(text))
        } else if let fault = Self.fault(text) {
            throw StoreTool.Fault(
                "\(name) \(fault); give a data folder (./data), postgres://USER@HOST/DATABASE, or a "
                    + "gateway.yaml")
        } else if text.hasSuffix(".yaml") || text.hasSuffix(".yml") {
            let (config, diagnostics) = GatewayConfig.load(text, environment: .process)
            // A faulty file may name the wrong store.
            guard diagnostics.isEmpty else { throw ConfigurationError(diagnostics: diagnostics) }
            if let settings = config.gateway.store {
                self = .database(try Self.address(settings.address))
            } else {
                self = .folder(config.dataPath)
            }
        } else {
            self = .folder(text)
        }
    }

    /// Why a text cannot be a folder; nil if it can.
    private static func fault(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        let isPath = ["/", "./", "../"].contains { text.hasPrefix($0) } && !text.hasPrefix("//")
        if isPath || FileManager.default.fileExists(atPath: text) { return nil }
        if let range = text.firstRange(of: "://") {
            let scheme = text[..<range.lowerBound]
            let isName = scheme.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            if isName { return "begins with \(scheme)://, which is unknown" }
        }
        let isAddress = text.contains { "@=:".contains($0) } || text.contains("//")
        return isAddress ? "looks like an address, but does not begin with postgres://" : nil
    }

    private static func address(_ text: String) throws -> PostgresAddress {
        do throws(PostgresAddressError) {
            return try PostgresAddress(text)
        } catch {
            throw StoreTool.Fault(error.description)
        }
    }

    var words: String {
        switch self {
        case .folder(let folder): folder
        case .database(let address): address.place
        }
    }

    func open(_ role: CopyRole, _ waiting: (String) -> Void) throws -> any StoreContents {
        switch self {
        case .folder(let folder): try SQLiteContents(folder: folder, role)
        case .database(let address): try PostgresContents(address, role, waiting: waiting)
        }
    }
}

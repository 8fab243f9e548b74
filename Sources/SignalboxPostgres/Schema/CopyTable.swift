/// The table that exists while a copy into the database is not finished. Then it is renamed.
enum CopyTable {
    static let isThere = isThere("copy")

    static let make = """
        CREATE TABLE IF NOT EXISTS signalbox.copy (
          source text NOT NULL, kind text NOT NULL, after text NOT NULL, damaged bigint NOT NULL)
        """

    static func isThere(_ table: String) -> String {
        "SELECT to_regclass('signalbox.\(table)') IS NOT NULL"
    }
}

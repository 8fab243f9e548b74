/// All that is examined.
enum CheckSteps {
    /// In the order in which it is done.
    static let all =
        LoadSteps.all + LifeSteps.all + IngestSteps.all + BuildSteps.all + SendHTTPSteps.all
        + RegisterSteps.all + SendSteps.all + StructSteps.all
}

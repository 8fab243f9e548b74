/// All steps of an examination.
enum CheckSteps {
    /// The steps in the order in which they run.
    static let all =
        LoadSteps.all + LifeSteps.all + IngestSteps.all + FilterSteps.all + BuildSteps.all
        + SendHTTPSteps.all + RegisterSteps.all + SendSteps.all + SourceSteps.all + ObserveSteps.all
        + StructSteps.all
}

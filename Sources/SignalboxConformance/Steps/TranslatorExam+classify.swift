internal import SignalboxCore
internal import SignalboxPluginHost

extension TranslatorExam {
    /// Checks answers of every kind to requests that the plugin rendered.
    func checkAnswers() {
        var groups: [[UInt64]] = []
        let count = size(exam.amount(128, light: 16))
        groups = prepare(make(count, 1), .plain).requests.map(\.items)
        guard !groups.isEmpty else { return }
        // Together and alone, because a plugin may mix answers up.
        let bound = min(groups.count, size(64))
        var answers = MadeUpAnswers.all(isLight: exam.order.isLight)[...]
        while !answers.isEmpty {
            let batch = Array(answers.prefix(bound))
            answers = answers.dropFirst(bound)
            let responses = batch.enumerated().map { index, answer in
                answer.response(to: groups[index])
            }
            findings.doing("classify() of \(batch.map { $0.name }.joined(separator: "; "))")
            judge(classify(responses, .plain), batch, responses)
        }
        guard bound > 1 else { return }
        for answer in MadeUpAnswers.all(isLight: true) {
            findings.doing("classify() of \(answer.name)")
            let responses = [answer.response(to: groups[0])]
            judge(classify(responses, .plain), [answer], responses)
        }
    }

    private func judge(
        _ made: Translation, _ answers: [MadeUpAnswer], _ responses: [HTTPResponse]
    ) {
        let name = answers.count == 1 ? answers[0].name : "\(answers.count) answers in one call"
        judge(made, name, rules.classify)
        for request in made.requests {
            let own = Set(request.items.map { Int($0) })
            let others = Set(Marks.numbers(of: Marks.token, in: request.bytes)).subtracting(own)
            // What a provider sent may go back to it, but not under another item's token.
            if !others.isEmpty, responses.count > 1 {
                findings.fail(rules.leaks, "\(name): a further request has another \(noun)'s token")
            }
        }
        let items = Set(responses.flatMap(\.items))
        for outcome in made.outcomes where !items.contains(outcome.item) {
            findings.fail(rules.classify, "\(name): an outcome names an item of no answer")
        }
    }
}

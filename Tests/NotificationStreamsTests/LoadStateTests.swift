// SPDX-License-Identifier: Apache-2.0

import NotificationStreams
import NotificationStreamsTestSupport
import Testing

private struct Unreachable: Error {}

@Suite("The state of what is loaded")
struct LoadStateTests {
    @Test("It begins as loading, with nothing to show")
    func begins() {
        let state = LoadState<String>()
        #expect(state.isLoading)
        #expect(state.value == nil)
        #expect(state.error == nil)
    }

    @Test("What a load brings is shown, and nothing is told from something")
    func loads() {
        var state = LoadState<String>()
        state.finishLoading(with: .success("fine"))
        guard case .loaded("fine") = state else {
            Issue.record("not loaded: \(state)")
            return
        }
        #expect(!state.isLoading)
        state.finishLoading(with: .success(nil))
        guard case .empty = state else {
            Issue.record("not empty: \(state)")
            return
        }
        #expect(state.value == nil)
    }

    @Test("A refresh keeps what is shown while it runs, and when it fails")
    func keeps() {
        var state = LoadState<String>()
        state.finishLoading(with: .success("fine"))
        state.beginLoading()
        #expect(state.isLoading)
        #expect(state.value == "fine")
        state.finishLoading(with: .failure(Unreachable()))
        #expect(!state.isLoading)
        #expect(state.value == "fine")
        #expect(state.error is Unreachable)
        state.beginLoading()
        #expect(state.value == "fine")
        #expect(state.error is Unreachable)
        state.finishLoading(with: .success("better"))
        #expect(state.value == "better")
        #expect(state.error == nil)
    }

    @Test("A first load that fails has nothing to keep")
    func failsFirst() {
        var state = LoadState<String>()
        state.finishLoading(with: .failure(Unreachable()))
        #expect(state.value == nil)
        #expect(state.error is Unreachable)
    }

    @Test("A load that is given up leaves what was before it")
    func givenUp() {
        var state = LoadState<String>()
        state.cancelLoading()
        #expect(state.isLoading)
        state.finishLoading(with: .success(nil))
        state.beginLoading()
        state.beginLoading()
        state.cancelLoading()
        guard case .empty = state else {
            Issue.record("not empty: \(state)")
            return
        }
        state.finishLoading(with: .success("fine"))
        state.beginLoading()
        state.cancelLoading()
        guard case .loaded("fine") = state else {
            Issue.record("not loaded: \(state)")
            return
        }
    }
}

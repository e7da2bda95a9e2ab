// SPDX-License-Identifier: Apache-2.0

/// How far something is that is loaded: loading, loaded, empty or failed, each with what there is to show.
///
/// A refresh keeps what is shown: while something is loaded again, and after that failed, ``value`` is still the value
/// loaded last. A load that is given up leaves the state as it was before it.
/// ```swift
/// var state = LoadState<[Server]>()               // loading, nothing to show
/// state.finishLoading(with: .success(servers))    // loaded
/// state.beginLoading()                            // loading, servers still shown
/// state.finishLoading(with: .failure(error))      // failed, servers still shown
/// ```
public enum LoadState<Value> {
    /// Being loaded, for the first time if nothing came before.
    indirect case loading(after: LoadState?)
    /// There is a value.
    case loaded(Value)
    /// It was loaded, and there is nothing.
    case empty
    /// The last load failed; the value of the one before, if it had one, is kept.
    case failed(any Error, keeping: Value?)

    /// Begins as loading for the first time.
    public init() {
        self = .loading(after: nil)
    }

    /// What there is to show, which is that of the last load that had an end; `nil` where nothing is.
    public var value: Value? {
        switch self {
        case .loading(let before): before?.value
        case .loaded(let value): value
        case .empty: nil
        case .failed(_, let kept): kept
        }
    }

    /// Why the last load that had an end failed; also while another runs.
    public var error: (any Error)? {
        switch self {
        case .loading(let before): before?.error
        case .failed(let error, _): error
        case .loaded, .empty: nil
        }
    }

    /// Whether a load runs, or the first one has not begun.
    public var isLoading: Bool {
        if case .loading = self { true } else { false }
    }

    /// A load begins; what is shown stays.
    public mutating func beginLoading() {
        guard !isLoading else { return }
        self = .loading(after: self)
    }

    /// A load has ended; a `nil` that was loaded with success means that there is nothing.
    public mutating func finishLoading(with result: Result<Value?, any Error>) {
        switch result {
        case .success(let value?): self = .loaded(value)
        case .success(nil): self = .empty
        case .failure(let error): self = .failed(error, keeping: value)
        }
    }

    /// A load was given up; all is as before it began.
    public mutating func cancelLoading() {
        if case .loading(let before?) = self {
            self = before
        }
    }
}

extension LoadState: Sendable where Value: Sendable {}

// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import Logging

extension Logger.Level: @retroactive ExpressibleByArgument {}

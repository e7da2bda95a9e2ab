# SPDX-License-Identifier: Apache-2.0
"""Attacks on a daemon by a user who may only open its sockets, and how they affect a well-behaved client."""

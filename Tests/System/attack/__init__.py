# SPDX-License-Identifier: Apache-2.0
"""Attacks on a daemon by a user who may only open its sockets, and what a well-behaved client notices of them."""

"""OrbitalOps: a language model flies a small satellite, one telecommand per turn.

Nothing is imported here, since OpenEnv takes seconds to load. Users start at
`orbital_ops_env.client`.
"""

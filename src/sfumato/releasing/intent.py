"""What the owner wants: a plan, proposed from a table and a few words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sfumato.channels import CHANNELS, JOINT_LAWS
from sfumato.errors import UsageError
from sfumato.guided import is_guided, make_method
from sfumato.plans import Plan
from sfumato.releasing.joint_noise import with_joint_noise


def plan(
    table: Any,
    *,
    target: str | None = None,
    identifier: str | None = None,
    noise: str | None = None,
    privacy: float | None = None,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    encoding: str = "utf-8",
) -> Plan:
    """Look at a table and propose a plan that a person can edit.

    Parameters
    ----------
    table : path, bundled name, dataframe or Arrow table
        The original.
    target : str, optional
        The class column, released as it is.
    identifier : str, optional
        The column that says whose row it is; noise is tied to it.
    noise : str, optional
        The law that blurs every column: gaussian (the default), uniform, laplace, intervals, substitution, projective or
        square-wave. Labels take the substitution of the same strength.
    privacy : float, optional
        Width of the 95 % interval, as a fraction of each range.
    method : str, optional
        In place of noise: correlated-gaussian, or a guided method such as leaf-swap.
    options : mapping, optional
        Parameters of the noise or of the method.
    name : str, optional
        The release's name; noise is fixed for a name.
    encoding : str
        Encoding of a CSV file.

    Returns
    -------
    Plan
        The proposal; `Plan.to_toml` writes it as text.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.plan("iris", noise="laplace", privacy=0.5).channels["petal_width"].law
    'laplace'
    >>> sf.plan("iris", method="leaf-swap", options={"least": 3}).method
    {'law': 'leaf-swap', 'least': 3}
    """
    if method is not None and (noise is not None or privacy is not None):
        raise UsageError(
            "method= takes the place of noise=, and its parameters are given by options=; leave noise= and privacy= out"
        )
    if noise is not None and noise not in CHANNELS and is_guided(noise):
        raise UsageError(
            f"{noise} is a method around a pattern of the whole table, not noise: give it as method={noise}, or in a plan as "
            f'method = {{ law = "{noise}" }} under [release]'
        )
    proposal = Plan.propose(
        table,
        target=target,
        identifier=identifier,
        law=noise,
        privacy=privacy,
        parameters={} if method else options or {},
        name=name,
        encoding=encoding,
    )
    return proposal if method is None else with_method(proposal, method, options or {})


def with_method(plan: Plan, method: str, options: Mapping[str, Any] | None = None) -> Plan:
    """Return a plan with a method in place of its noise.

    Noise for several columns together keeps a matching substitution on the columns of labels.
    """
    parameters = dict(options or {})
    if method in JOINT_LAWS:
        return with_joint_noise(plan, parameters)
    make_method(method, parameters)  # a wrong name or parameter is told at once
    return replace(plan, method={"law": method} | parameters, channels={})

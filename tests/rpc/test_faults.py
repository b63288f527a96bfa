"""What a client is told of params that are wrong."""

import pytest
from pydantic import ValidationError

from abey.protocol.queries import ValidateParams
from abey.rpc.faults import error_object, invalid_params


def test_words_of_ours_about_params_are_told_as_they_are() -> None:
    with pytest.raises(ValidationError) as refused:
        ValidateParams.model_validate({})
    told = "exactly one of uri, text is required"
    assert error_object(invalid_params("agents/validate", refused.value)) == {
        "code": -32602,
        "message": f"invalid params for agents/validate: {told}",
        "data": {
            "kind": "invalid-params",
            "retryable": False,
            "errors": [{"loc": [], "msg": told, "type": "value_error"}],
        },
    }

from .cache import KeptModel as KeptModel
from .cache import Usage as Usage
from .model_table import price_usd as price_usd

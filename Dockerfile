# Image of a Beam worker: Beam's own, with this package and the versions of requirements.lock.
#
#   pip install build && python -m build --wheel
#   docker build --tag=REGISTRY/beamformer:0.1.0 .
#
# EXTRAS: of setup.py. `gcp` and `aws` read gs:// and s3://; `train` is required by
# --subwords=wordpiece, trainer.translate and beamformer.Translate.
FROM apache/beam_python3.11_sdk:2.77.0

ARG EXTRAS=gcp,aws

WORKDIR /opt/beamformer
COPY requirements.lock dist/beamformer-0.1.0-py3-none-any.whl ./

# Constraints pin what is installed and install nothing; they have no hashes, as the wheel has none.
RUN sed -e '/--hash/d' -e 's/ *\\$//' requirements.lock > constraints.txt \
 && pip install --no-cache-dir --constraint=constraints.txt \
    "./beamformer-0.1.0-py3-none-any.whl[${EXTRAS}]" \
 && python -c 'import pipeline.stages.beam_pipeline'

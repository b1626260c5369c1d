"""The paper, section by section: what it says, our code, the tests, and where we depart from it.

A test keeps the table true: every file, name and test in it exists.
"""

from typing import NamedTuple


class Section(NamedTuple):
    """A section of the paper.

    number, title: the paper's.
    says: what it specifies.
    code: our modules, classes and functions, as dotted names, or paths of flagfiles.
    tests: tests of them, as pytest names them.
    checked: what they compare with.
    deviations: where we depart from the paper, or decide what it leaves open.
    figure: name of the figure of `trainer.paper.figures` that illustrates it.
    """

    number: str
    title: str
    says: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    checked: str
    deviations: tuple[str, ...] = ()
    figure: str = ""


_MODEL, _SEARCH = "tests/model", "tests/model/search/test_search.py"
_TRAINING, _TRAINER = "tests/trainer/training", "tests/trainer"

ARCHITECTURE = (
    Section(
        "3.1",
        "Encoder and decoder stacks",
        "N = 6 layers each. Every sublayer is LayerNorm(x + Sublayer(x)); the decoder has a third "
        "sublayer, attention to the encoder's output. Targets are shifted right by one position.",
        (
            "model.encoder.Encoder",
            "model.decoder.Decoder",
            "model.sublayers.Residual",
            "model.transformer.shift_right",
        ),
        (
            f"{_MODEL}/test_encoder.py::test_layers_compose_as_in_figure_1",
            f"{_MODEL}/test_decoder.py::test_layers_compose_as_in_figure_1",
            f"{_MODEL}/test_sublayers.py::test_residual_follows_its_formula",
            f"{_MODEL}/test_torch.py::test_decoder_layer_is_pytorchs",
            f"{_MODEL}/test_transformer.py::test_logits_are_those_of_the_equations_without_padding",
            f"{_MODEL}/test_transformer.py::test_a_token_changes_no_logits_up_to_its_own_position",
        ),
        "A second implementation in float64 NumPy, one sentence and one head at a time; PyTorch's "
        "layers, weight for weight; no target token changes a logit at or before its position.",
        (
            "Layer normalization has ε = 1e-6, as in Tensor2Tensor.",
            "The decoder starts from the embedding of padding, a learned vector.",
            "--norm=pre puts the normalization before the sublayer.",
        ),
        "architecture",
    ),
    Section(
        "3.2.1",
        "Scaled dot-product attention",
        "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V",
        (
            "model.attention.scaled_dot_product_attention",
            "model.attention.attention_weights",
        ),
        (
            f"{_MODEL}/test_attention.py::test_attention_follows_equation_1",
            f"{_MODEL}/test_attention.py::test_masked_keys_have_no_influence_at_all",
            f"{_MODEL}/test_attention.py::test_scores_too_large_for_an_exponential_still_average",
            f"{_MODEL}/test_attention.py::test_softmax_is_float32_for_bfloat16_inputs",
        ),
        "Equation 1 in NumPy; masked keys change no bit; scores of 10⁴ and bfloat16 inputs.",
        figure="scaling",
    ),
    Section(
        "3.2.2",
        "Multi-head attention",
        "MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O, head_i = Attention(Q W_i^Q, K W_i^K, "
        "V W_i^V), h = 8, d_k = d_v = d_model / h = 64",
        ("model.attention.MultiHeadAttention", "model.kernels.linear.project_heads"),
        (
            f"{_MODEL}/test_attention.py::test_heads_project_attend_and_are_joined_one_by_one",
            f"{_MODEL}/test_attention.py::test_projections_have_the_papers_sizes_and_no_bias",
            f"{_MODEL}/test_torch.py::test_attention_is_pytorchs",
        ),
        "One head at a time in NumPy, then joined; PyTorch's attention.",
        (
            "Projections have no bias, as in Tensor2Tensor.",
            "Queries, keys and values start with half of Glorot's variance, as in PyTorch "
            "(--attention_init_variance).",
        ),
        "multi_head",
    ),
    Section(
        "3.2.3",
        "Applications of attention",
        "Encoder to itself, decoder to itself up to each position (−∞ on illegal connections), "
        "decoder to encoder.",
        (
            "model.masks.causal_mask",
            "model.masks.sentence_mask",
            "model.masks.padding_mask",
            "model.transformer.Transformer.decode",
        ),
        (
            f"{_MODEL}/test_masks.py::test_causal_mask_shows_a_position_itself_and_earlier_ones",
            f"{_MODEL}/test_masks.py::test_a_query_looks_at_the_sentence_of_its_own_number",
            f"{_MODEL}/test_transformer.py::test_attention_does_not_cross_sentences_of_a_row",
            f"{_MODEL}/test_transformer.py::test_more_padding_does_not_change_the_logits",
            f"{_MODEL}/test_decoder.py::test_padding_of_the_memory_has_no_influence_at_all",
        ),
        "Masks written out; bit-equal outputs whatever stands behind a mask.",
        (
            "A row may hold several pairs; the masks treat each as if it were alone.",
            "−10⁹ in float32 in place of −∞: its weight is exactly 0.",
        ),
        "masks",
    ),
    Section(
        "3.3",
        "Position-wise feed-forward networks",
        "FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, d_ff = 2048",
        ("model.sublayers.FeedForward",),
        (f"{_MODEL}/test_sublayers.py::test_feed_forward_follows_equation_2",),
        "Equation 2 in NumPy.",
    ),
    Section(
        "3.4",
        "Embeddings and softmax",
        "One matrix for both embeddings and the pre-softmax map; embeddings are multiplied by "
        "√d_model.",
        ("model.embedding.SharedEmbedding",),
        (
            f"{_MODEL}/test_embedding.py::test_embedding_is_a_row_times_the_root_of_the_model_size",
            f"{_MODEL}/test_embedding.py::test_logits_are_products_with_the_rows_unscaled",
            f"{_MODEL}/test_transformer.py"
            "::test_one_matrix_embeds_both_languages_and_makes_the_logits",
        ),
        "Changing one row of the matrix changes the embeddings of both sides and one logit.",
        ("Languages with separate vocabularies have a matrix each.",),
    ),
    Section(
        "3.5",
        "Positional encoding",
        "PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(same angle): "
        "wavelengths from 2π to 10000 · 2π; or learned vectors.",
        ("model.positions.SinusoidalPositions", "model.positions.LearnedPositions"),
        (
            f"{_MODEL}/test_positions.py::test_sinusoids_follow_the_closed_form",
            f"{_MODEL}/test_positions.py::test_sines_and_cosines_alternate",
            f"{_MODEL}/test_positions.py::test_positions_stay_float32_in_mixed_precision",
            f"{_MODEL}/test_positions.py"
            "::test_positions_beyond_the_last_learned_one_share_its_vector",
        ),
        "The closed form in float64, also at position 1023 in mixed precision.",
        (
            "Learned positions beyond --max_positions share the last vector.",
            "--positions=sinusoidal_halves is Tensor2Tensor's order: all sines, then all cosines.",
        ),
        "positions",
    ),
)

WHY_SELF_ATTENTION = (
    Section(
        "4",
        "Why self-attention",
        "Table 1: O(n² d) operations, O(1) sequential operations and path length; restricted to a "
        "neighbourhood of r positions O(r n d) and a path of O(n / r). The heads can be looked at.",
        ("model.masks.window_mask", "model.attention_maps.attention_maps"),
        (
            f"{_MODEL}/test_masks.py::test_window_mask_is_centred_on_each_position",
            f"{_MODEL}/test_transformer.py::test_a_window_hides_whatever_is_beyond_it",
            f"{_MODEL}/test_attention_maps.py::test_maps_are_those_of_the_forward_pass",
        ),
        "A token outside the window changes no bit of the output.",
        (
            "--attention_window=r masks the scores of the encoder: it measures what the "
            "restriction costs in quality, and saves no time.",
        ),
        "windows",
    ),
)

TRAINING = (
    Section(
        "5.1",
        "Training data and batching",
        "WMT14 English–German, 4.5 M pairs, 37,000 shared subwords; English–French, 36 M pairs, "
        "32,000 word-pieces. Batches of similar lengths, about 25,000 tokens of each side.",
        (
            "pipeline.corpora.wmt",
            "pipeline.subwords.learning.learn_bpe",
            "pipeline.subwords.learning.learn_wordpiece",
            "pipeline.dataset.packing.pack",
            "trainer.data.input_pipeline.training_batches",
        ),
        (
            "tests/pipeline/corpora/test_catalog.py::test_wmt14_has_the_published_numbers_of_pairs",
            "tests/pipeline/corpora/test_catalog.py::test_newstest2014_is_what_sacrebleu_scores",
            "tests/pipeline/dataset/test_packing.py::test_most_positions_are_real_tokens",
            f"{_TRAINER}/data/test_input_pipeline.py::test_both_sides_together_fill_the_tokens",
            f"{_TRAINER}/data/test_input_pipeline.py::test_each_epoch_holds_each_pair_once",
        ),
        "Published numbers of pairs and checksums; every pair once an epoch.",
        (
            "SentencePiece learns the BPE, with a piece for each byte.",
            "A row of a batch may hold several whole pairs: 1 to 2 % of it is padding.",
        ),
    ),
    Section(
        "5.2",
        "Hardware and schedule",
        "8 GPUs; base 100,000 updates, big 300,000.",
        (
            "configs/base.flags",
            "configs/big.flags",
            "trainer.runtime.strategy.make_strategy",
            "trainer.training.train_step.TrainingModel",
        ),
        (
            f"{_TRAINER}/test_config.py::test_base_is_the_papers_base_model",
            f"{_TRAINER}/test_config.py::test_big_is_the_papers_big_model",
            f"{_TRAINING}/test_train_step.py::test_updates_are_those_computed_by_hand",
            "tests/integration/test_distribution.py"
            "::test_replicas_and_accumulation_make_the_updates_of_one_device",
        ),
        "N replicas make the updates of one device.",
    ),
    Section(
        "5.3",
        "Optimizer",
        "Adam, β_1 = 0.9, β_2 = 0.98, ε = 10⁻⁹; rate = d_model^-0.5 · min(step^-0.5, step · "
        "4000^-1.5)",
        (
            "trainer.training.optimizer.Adam",
            "trainer.training.learning_rate.learning_rate",
            "trainer.training.learning_rate.LearningRateSchedule",
        ),
        (
            f"{_TRAINING}/test_optimizer.py::test_updates_are_those_of_keras_adam",
            f"{_TRAINING}/test_learning_rate.py::test_the_base_model_has_the_rate_of_the_paper",
            f"{_TRAINING}/test_train_step.py::test_the_default_optimizer_is_the_paper_s",
        ),
        "Keras's Adam; equation 3 at its ends and its peak.",
        figure="learning_rate",
    ),
    Section(
        "5.4",
        "Regularization",
        "Dropout 0.1 on the output of each sublayer and on the sums of embeddings and positions; "
        "label smoothing ε_ls = 0.1.",
        (
            "model.sublayers.Dropout",
            "trainer.training.loss.cross_entropy",
            "trainer.training.loss.smoothing_mass",
        ),
        (
            f"{_MODEL}/test_encoder.py::test_every_sublayer_is_dropped_out",
            f"{_MODEL}/test_transformer.py::test_sums_of_embeddings_and_positions_are_dropped_out",
            f"{_TRAINING}/test_loss.py::test_the_sums_are_those_of_the_definition",
            f"{_TRAINING}/test_loss.py::test_the_gradient_is_that_of_finite_differences",
            f"{_TRAINING}/test_loss.py"
            "::test_smoothing_over_all_subwords_is_szegedys_mixture_worked_out_by_hand",
        ),
        "The written-out distribution in float64, finite differences.",
        (
            "Dropout decides by 16 random bits: a rate of 0.1 is 0.10001.",
            "ε_ls is spread over all V subwords (Szegedy et al. 2016); "
            "--label_smoothing_over=wrong spreads it over the others.",
        ),
        "smoothing",
    ),
)

RESULTS = (
    Section(
        "6.1",
        "Machine translation",
        "The last 5 (base) or 20 (big) checkpoints are averaged. Beam 4, length penalty α = 0.6, "
        "at most input + 50 tokens, ending early. Table 2: 27.3 and 28.4 BLEU, 3.3 · 10¹⁸ FLOPs.",
        (
            "trainer.training.averaging.make_candidates",
            "model.search.search.search",
            "model.search.penalties.length_penalty",
            "trainer.evaluation.metrics.score_corpus",
            "trainer.paper.results.estimate_paper_flops",
        ),
        (
            f"{_TRAINING}/test_averaging.py::test_each_average_is_the_mean_of_its_checkpoints",
            f"{_SEARCH}::test_beam_as_wide_as_the_language_finds_its_best",
            f"{_SEARCH}::test_penalty_is_the_papers",
            f"{_SEARCH}::test_stopping_loses_nothing",
            f"{_TRAINER}/evaluation/test_metrics.py"
            "::test_the_papers_bleu_is_that_of_multi_bleu_on_tokens_of_split_compounds",
            f"{_TRAINER}/test_table3.py::test_flops_are_time_times_gpus_times_what_a_p100_does",
        ),
        "Exhaustive search on small languages; a plain search without early stop; multi-bleu.perl.",
        (
            "At the output limit search forces the end symbol.",
            "Length counts the end symbol, as in Tensor2Tensor.",
            "sacreBLEU is reported beside the paper's tokenised BLEU.",
        ),
        "table_2",
    ),
    Section(
        "6.2",
        "Model variations",
        "Table 3: rows A to E, and big.",
        ("configs/table3", "trainer.paper.results.TABLE_3", "trainer.table3"),
        (
            f"{_TRAINER}/test_table3.py"
            "::test_a_row_changes_what_the_paper_changes_and_nothing_else",
            f"{_TRAINER}/test_table3.py"
            "::test_with_41100_subwords_all_counts_but_bigs_are_the_papers",
            f"{_MODEL}/test_parameters.py::test_every_row_of_table_3_builds_and_runs",
        ),
        "Parameter counts beside the paper's.",
        figure="table_3",
    ),
    Section(
        "6.3",
        "English constituency parsing",
        "4 layers of 1,024 on linearised trees; beam 21, α = 0.3, at most input + 300 tokens. "
        "Table 4: 91.3 and 92.7 F1.",
        (
            "configs/parsing_paper.flags",
            "pipeline.dataset.trees",
            "trainer.evaluation.brackets.score_trees",
        ),
        (
            f"{_TRAINER}/test_config.py"
            "::test_the_parser_of_the_paper_is_the_base_model_with_section_6_3",
            f"{_TRAINER}/evaluation/test_brackets.py::test_counts_are_those_of_evalb",
        ),
        "The counts of EVALB itself.",
    ),
)

CHAPTERS = {
    "3 Model architecture": ARCHITECTURE,
    "4 Why self-attention": WHY_SELF_ATTENTION,
    "5 Training": TRAINING,
    "6 Results": RESULTS,
}
